import { oneLine } from './printable.ts';

/** Columns of plain text: readable on a terminal, easy for awk. Cells are made safe here. */
export const table = (
  heading: readonly string[],
  rows: readonly (readonly string[])[],
  longest = 160,
): readonly string[] => {
  const cells = [heading, ...rows].map((row) => row.map((cell) => oneLine(cell, longest) || '-'));
  const widths = heading.map((_, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)));
  return cells.map((row) =>
    row
      .map((cell, column) => (column === row.length - 1 ? cell : cell.padEnd(widths[column] ?? 0)))
      .join('  ')
      .trimEnd(),
  );
};
