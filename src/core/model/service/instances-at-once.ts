import { limits } from "../../../limits.ts";

/** How many instances of a template one decision may create: each stores the whole template. */
export const instancesAtOnce = (templateChars: number): number => {
  const most = Math.floor(limits.instanceCharsAtOnceMax / templateChars);
  return Math.max(1, Math.min(limits.instancesPerCallMax, most));
};
