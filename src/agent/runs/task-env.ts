import { userInfo } from "node:os";

export type AgentEnv = Readonly<Record<string, string | undefined>>;
type Variables = Readonly<Record<string, string>>;

export interface TaskEnvOptions {
  /** The agent's own environment. */
  readonly agentEnv: AgentEnv;
  /** Variables that the operator gives to every task. */
  readonly added?: Variables | undefined;
  /** Names of the agent's variables that pass in addition to PASSED. */
  readonly passes?: (name: string) => boolean;
}

const PASSED = new Set(["PATH", "HOME", "USER", "SHELL", "LANG", "TMPDIR", "TZ"]);

/** Variables that the commands of a scheduler below may need to be found and to run. */
export const LOWER_PASSES: readonly string[] = ["LD_LIBRARY_PATH", "PYTHONPATH"];

const DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/**
 * The environment that tasks start with: few variables, equal however the agent was started. Tasks get no other variables of the agent,
 * which may include a key. Submitters add theirs. Read once, because process.env is slow.
 */
export function taskEnvOf({ agentEnv, added, passes }: TaskEnvOptions): Record<string, string> {
  const env: Record<string, string> = { PATH: DEFAULT_PATH, ...userVariables() };
  for (const [name, value] of Object.entries(agentEnv)) {
    if (value !== undefined && (PASSED.has(name) || passes?.(name) === true)) env[name] = value;
  }
  if (agentEnv["npm_execpath"] !== undefined) env["PATH"] = withoutNpm(env["PATH"] ?? "");
  return { ...env, ...added };
}

/** Needed where a service manager started the agent with almost no variables. */
function userVariables(): Variables {
  try {
    const { username, homedir, shell } = userInfo();
    return { USER: username, HOME: homedir, ...(shell === null ? {} : { SHELL: shell }) };
  } catch {
    return {}; // a container's user may have no entry; its tasks inherit the agent's variables
  }
}

/** `npm start` puts its packages' programs before those of the machine. */
const withoutNpm = (path: string): string =>
  path
    .split(":")
    .filter((entry) => !/\/node_modules\/\.bin$|\/node-gyp-bin$/.test(entry))
    .join(":");
