/** The requested resources of a run as text: equal for equal requests. */
export const needsKey = (needs: Readonly<Record<string, number>>): string =>
  JSON.stringify(Object.entries(needs).sort(([a], [b]) => (a < b ? -1 : 1)));
