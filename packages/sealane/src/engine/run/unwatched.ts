/** The same promise, whose rejection a caller may ignore. */
export const unwatched = <T>(promise: Promise<T>): Promise<T> => {
  promise.catch(() => undefined);
  return promise;
};
