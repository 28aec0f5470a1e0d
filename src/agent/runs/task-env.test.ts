import { userInfo } from "node:os";
import { expect, test } from "vitest";
import { taskEnvOf } from "./task-env.ts";

const PASSED = {
  PATH: "/opt/bin:/bin",
  HOME: "/home/ada",
  USER: "ada",
  SHELL: "/bin/zsh",
  LANG: "de_DE.UTF-8",
  TMPDIR: "/scratch",
  TZ: "UTC",
};

test("tasks get the seven variables of the agent that every task needs, and no other", () => {
  const secrets = { BUSBAR_KEY: "k", AWS_SECRET: "s", npm_config_cache: "c", LD_PRELOAD: "x.so" };
  expect(taskEnvOf({ agentEnv: { ...PASSED, ...secrets } })).toEqual(PASSED);
});

test("an agent that a service manager started without variables still gives tasks a user and a path", () => {
  const { username, homedir } = userInfo();
  const env = taskEnvOf({ agentEnv: {} });
  expect(env).toMatchObject({ USER: username, HOME: homedir });
  expect(env["PATH"]?.split(":")).toContain("/usr/bin");
});

test("the operator's variables override the agent's", () => {
  const env = taskEnvOf({ agentEnv: PASSED, added: { TMPDIR: "/fast", MODULEPATH: "/m" } });
  expect(env).toEqual({ ...PASSED, TMPDIR: "/fast", MODULEPATH: "/m" });
});

test("directories that npm put on the path do not hide the machine's programs", () => {
  const path = "/x/node_modules/.bin:/npm/node-gyp-bin:/usr/bin";
  expect(taskEnvOf({ agentEnv: { PATH: path, npm_execpath: "/npm" } })["PATH"]).toBe("/usr/bin");
  expect(taskEnvOf({ agentEnv: { PATH: path } })["PATH"]).toBe(path);
});

test("the commands of a scheduler below get the variables that it names", () => {
  const agentEnv = { ...PASSED, FLUX_URI: "local:///x", OTHER: "1" };
  const passes = (name: string): boolean => name.startsWith("FLUX_");
  expect(taskEnvOf({ agentEnv, passes })).toEqual({ ...PASSED, FLUX_URI: "local:///x" });
});
