/** Lists the methods of a path: HTTP requires them in the answer to a wrong one. */
export interface AllowedMethods {
  add(url: string, methods: readonly string[]): void;
  /** For the path itself rather than a pattern that it fits, as /v1/jobs/try fits /v1/jobs/:id. */
  of(path: string): readonly string[];
}

export function createAllowedMethods(): AllowedMethods {
  const routes = new Map<
    string,
    { readonly parts: readonly string[]; readonly methods: Set<string> }
  >();
  return {
    add(url, methods) {
      const route = routes.get(url) ?? { parts: url.split("/"), methods: new Set() };
      routes.set(url, route);
      for (const method of methods) route.methods.add(method);
    },
    of(path) {
      const parts = path.split("/");
      const exact = routes.get(path);
      const all = exact === undefined ? [...routes.values()] : [exact];
      const fitting = all.filter((route) => fits(route.parts, parts));
      return [...new Set(fitting.flatMap(({ methods }) => [...methods]))].sort();
    },
  };
}

const fits = (route: readonly string[], path: readonly string[]): boolean =>
  route.length === path.length &&
  route.every((part, at) => (part.startsWith(":") ? path[at] !== "" : part === path[at]));
