/** Parses "0-3,8,10-11", as the kernel writes sets of processors; undefined for any other text. */
export function parseCpuList(text: string): ReadonlySet<number> | undefined {
  const cpus = new Set<number>();
  for (const part of text.trim().split(",")) {
    if (part === "") continue;
    const match = /^(\d{1,6})(?:-(\d{1,6}))?$/.exec(part);
    if (match === null) return undefined;
    const [first, last] = [Number(match[1]), Number(match[2] ?? match[1])];
    for (let cpu = first; cpu <= last; cpu++) cpus.add(cpu);
  }
  return cpus;
}

/** The processors that this process may use, from /proc/self/status. */
export function parseAllowedCpus(status: string): ReadonlySet<number> | undefined {
  const list = /^Cpus_allowed_list:\s*(\S+)$/m.exec(status)?.[1];
  return list === undefined ? undefined : parseCpuList(list);
}
