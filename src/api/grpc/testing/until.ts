/** Waits until something holds, looking again and again; fails after a bounded while. */
export async function until(holds: () => boolean, what: string): Promise<void> {
  const giveUpAtMs = Date.now() + 10_000;
  while (!holds()) {
    if (Date.now() > giveUpAtMs) throw new Error(`never happened: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** Lets everything that is ready run, many times over: what has not happened then, will not. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 200; turn += 1) {
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** A number that has stopped growing. */
export async function whenSettled(read: () => number): Promise<number> {
  let last = -1;
  await settle();
  for (let round = 0; round < 100 && last !== read(); round += 1) {
    last = read();
    await new Promise((resolve) => setTimeout(resolve, 50));
    await settle();
  }
  return read();
}
