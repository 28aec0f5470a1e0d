/** The known word that the user probably meant; undefined when no word is close enough. */
export function nearest(word: string, known: readonly string[]): string | undefined {
  const wanted = word.toLowerCase().slice(0, 64);
  let best: string | undefined;
  let bestDistance = Math.max(1, Math.floor(wanted.length / 3)) + 1;
  for (const candidate of known) {
    const distance = editDistance(wanted, candidate.toLowerCase());
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

/** The number of letters to add, remove, replace, or swap with their neighbour. */
function editDistance(from: string, to: string): number {
  let beforePrevious: number[] = [];
  let previous = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let row = 1; row <= from.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= to.length; column += 1) {
      const replaced = (previous[column - 1] ?? 0) + (from[row - 1] === to[column - 1] ? 0 : 1);
      const added = (current[column - 1] ?? 0) + 1;
      const removed = (previous[column] ?? 0) + 1;
      const isSwap =
        row > 1 &&
        column > 1 &&
        from[row - 1] === to[column - 2] &&
        from[row - 2] === to[column - 1];
      const swapped = isSwap ? (beforePrevious[column - 2] ?? 0) + 1 : removed;
      current.push(Math.min(replaced, added, removed, swapped));
    }
    beforePrevious = previous;
    previous = current;
  }
  return previous[to.length] ?? 0;
}
