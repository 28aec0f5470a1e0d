import { whyNotInstalled } from "./debian.ts";

/** Why completion cannot be tried in zsh and fish here; undefined when it can. */
export const whyNoShells = (): string | undefined =>
  whyNotInstalled({ packages: ["zsh", "fish"], programs: ["/usr/bin/zsh", "/usr/bin/fish"] });
