/** Lets all ready work run, many times over: anything that has not happened then, will not. */
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
