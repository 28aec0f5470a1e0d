/** A form of an answer that a client can request: `application/json;as=Table;v=v1;g=meta.k8s.io`. */
export interface Accepted {
  readonly as: string;
  readonly group: string;
  readonly version?: string;
}

/** Whether a header prefers this form to plain JSON, or accepts both equally. */
export function accepts(header: string | undefined, wanted: Accepted): boolean {
  return (header ?? "").split(",").some((range) => {
    const [type = "", ...parameters] = range.split(";").map((part) => part.trim());
    if (type !== "application/json") return false;
    const has = (text: string): boolean => parameters.includes(text);
    const isVersion = wanted.version === undefined || has(`v=${wanted.version}`);
    return has(`as=${wanted.as}`) && has(`g=${wanted.group}`) && isVersion;
  });
}

export const wantsTable = (header: string | undefined): boolean =>
  accepts(header, { as: "Table", group: "meta.k8s.io" });
