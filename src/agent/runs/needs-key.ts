/** What one run needs, as text: equal for equal needs. */
export const needsKey = (needs: Readonly<Record<string, number>>): string =>
  JSON.stringify(Object.entries(needs).sort(([a], [b]) => (a < b ? -1 : 1)));
