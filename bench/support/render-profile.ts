import type { CpuProfile, FunctionTime } from "./cpu-profile.ts";

const FUNCTIONS_SHOWN = 25;
const AREA_SHARE_MIN = 0.002;

/** The time of one thread: by stage, by area, by function, and with the functions that each of ours called. */
export function renderProfile(title: string, profile: CpuProfile, tasks: number): string {
  const { busyUs, idleUs } = profile;
  const functions = profile.functions.filter(
    ({ name, totalUs }) => name !== "(idle)" && name !== "(root)" && totalUs > 0,
  );
  const line = (us: number, ...text: readonly string[]): string => {
    const percent = `${((us * 100) / busyUs).toFixed(1)} %`.padStart(7);
    const perTask = `${(us / tasks).toFixed(2)} us`.padStart(12);
    return `${percent} ${perTask}  ${text.join("  ")}`.trimEnd();
  };
  const byTime = (us: (one: FunctionTime) => number): string[] =>
    functions
      .toSorted((a, b) => us(b) - us(a))
      .slice(0, FUNCTIONS_SHOWN)
      .map((one) => line(us(one), one.name, one.place));
  const areas = Map.groupBy(functions, ({ area }) => area);
  const areaTimes = Array.from(areas, ([area, members]) => ({
    area,
    us: members.reduce((sum, { selfUs }) => sum + selfUs, 0),
  }));
  const seconds = (us: number): string => (us / 1e6).toFixed(2);
  return [
    `## ${title}: ${seconds(busyUs)} s busy, ${seconds(idleUs)} s idle; shares of the busy time`,
    "",
    "By stage",
    ...Array.from(profile.stages)
      .filter(([, us]) => us >= busyUs * AREA_SHARE_MIN)
      .toSorted(([, a], [, b]) => b - a)
      .map(([stage, us]) => line(us, stage)),
    "",
    "By area",
    ...areaTimes
      .filter(({ us }) => us >= busyUs * AREA_SHARE_MIN)
      .toSorted((a, b) => b.us - a.us)
      .map(({ area, us }) => line(us, area)),
    "",
    "By function, itself only",
    ...byTime(({ selfUs }) => selfUs),
    "",
    "By function of src, with all it called",
    ...functions
      .filter(({ area }) => area.startsWith("src/"))
      .toSorted((a, b) => b.totalUs - a.totalUs)
      .slice(0, FUNCTIONS_SHOWN)
      .map((one) => line(one.totalUs, one.name, one.place)),
    "",
  ].join("\n");
}
