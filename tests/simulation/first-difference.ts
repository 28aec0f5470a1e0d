/** The first difference of two plain values: "jobs.3.progress.state is 1, not 2"; undefined: none. */
export function firstDifference(want: unknown, have: unknown, path: string): string | undefined {
  if (Object.is(want, have)) return undefined;
  if (!isObject(want) || !isObject(have)) return `${path}: ${show(have)}, not ${show(want)}`;
  for (const name of new Set([...Object.keys(want), ...Object.keys(have)])) {
    const found = firstDifference(want[name], have[name], `${path}.${name}`);
    if (found !== undefined) return found;
  }
  return undefined;
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null;

const show = (value: unknown): string => JSON.stringify(value) ?? "nothing";
