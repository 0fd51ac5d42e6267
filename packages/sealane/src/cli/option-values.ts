import { InvalidArgumentError } from 'commander';

/** A variable of a script that was never set must not mean "all of them", or "another one". */
export const notEmpty = (text: string): string => {
  if (text.trim() === '') throw new InvalidArgumentError('It must not be empty.');
  return text;
};

export const wholeNumber = (text: string): number => {
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(Number(text)))
    throw new InvalidArgumentError('It must be a whole number.');
  return Number(text);
};
