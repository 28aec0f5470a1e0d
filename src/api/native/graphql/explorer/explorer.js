// The page at /graphql. It has no library, and sends requests only to its own server.

const at = (id) => document.getElementById(id);
const address = "/graphql";

const EXAMPLES = {
  "Jobs and their tasks": `query Jobs($group: String) {
  jobs(group: $group, pageSize: 10) {
    jobs {
      id
      state
      spec { name group }
      taskList(pageSize: 3) { tasks { id state node exitCode } }
    }
    nextPageToken
  }
}`,
  "What waits, and why": `{
  jobs(states: [pending], pageSize: 5) {
    jobs { id explanation { summary hints cheapestChange } }
  }
}`,
  "Nodes, clusters, groups": `{
  nodes { nodes { name cluster state capacity used } }
  clusters { clusters { name kind nodesConnected tasks } }
  groups { groups { name weight tasks { pending running succeeded failed } } }
}`,
  "Submit a job": `mutation {
  submitJobs(jobs: [{ command: ["sleep", "5"], name: "hello" }]) {
    jobs { id }
    revision
  }
}`,
  "Watch jobs": `subscription {
  jobChanged { id state spec { name } tasks { running succeeded failed } }
}`,
  "Watch nodes come and go": `subscription {
  watch(nodes: true) {
    revision
    node { name cluster state }
    removed { kind id }
  }
}`,
};

/** Examples for a server that has the nexus tree. */
const TREE_EXAMPLES = {
  "Nexus: one job": `{
  root { Config { JobGroups(Id: "DefaultGroup") { Id Jobs(Id: "job-1") { Id JobId PowerNeeded } } } }
}`,
  "Nexus: jobs and their shares": `{
  root {
    Config {
      Scheduler { Status { JobsQueued JobsRunning BusyEdges FreeEdges } }
      JobGroups {
        Id
        JobsPage(Limit: 20) {
          Items { Id PowerNeeded Status { PercentCompleted Execution { Name PowerRequested Progress } } }
          Continue
        }
      }
    }
  }
}`,
  "Nexus: sites and edges": `{
  root {
    Inventory { Site { Id Edges { Id Status { PowerInfo { TotalPowerAvailable FreePowerAvailable } CurrentJob } } } }
    DesiredSiteConfig { SitesDC { Id EdgesDC { Id JobsInfo { Id RequestorJob Status { Progress } } } } }
  }
}`,
  "Nexus: progress of jobs": `subscription {
  Job { Id Status { PercentCompleted Execution { Name Progress } } }
}`,
};

let running;

async function run() {
  running?.abort();
  running = new AbortController();
  const { signal } = running;
  const since = performance.now();
  show("", false);
  say("asking…");
  try {
    const variables = JSON.parse(at("variables").value.trim() || "{}");
    await ask({ query: at("query").value, variables }, signal);
    say(`${Math.round(performance.now() - since)} ms`);
  } catch (error) {
    if (signal.aborted) return say("stopped");
    show(String(error.message ?? error), true);
    say("failed");
  } finally {
    at("stop").hidden = true;
  }
}

/** Reads the response as a stream if it is one: only the server knows whether the document is a subscription. */
async function ask(body, signal) {
  const isStream = /\bsubscription\b/.test(body.query);
  const response = await fetch(address, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: isStream ? "text/event-stream" : "application/json",
    },
    body: JSON.stringify(body),
    signal,
  });
  const type = response.headers.get("content-type") ?? "";
  if (!type.startsWith("text/event-stream")) {
    const answer = await response.json();
    return show(JSON.stringify(answer, null, 2), "errors" in answer || "error" in answer);
  }
  at("stop").hidden = false;
  say("listening…");
  let rest = "";
  let events = 0;
  for await (const part of response.body.pipeThrough(new TextDecoderStream())) {
    const blocks = (rest + part).split("\n\n");
    rest = blocks.pop();
    for (const block of blocks) {
      const data = /^event: next\n(?:id: .*\n)?data: (.*)$/m.exec(block)?.[1];
      if (data === undefined) continue;
      const answer = JSON.parse(data);
      append(JSON.stringify(answer, null, 2), "errors" in answer);
      say(`listening… ${++events} events`);
    }
  }
}

const say = (text) => (at("status").textContent = text);

function show(text, isFailed) {
  at("result").textContent = text;
  at("result").classList.toggle("failed", isFailed);
}

/** The newest on top, and a bounded number. */
function append(text, isFailed) {
  show(`${text}\n\n${at("result").textContent}`.slice(0, 200_000), isFailed);
}

// The schema, from the server.

const TYPE = "kind name ofType { kind name ofType { kind name ofType { kind name } } }";
const SCHEMA = `{ __schema {
  queryType { name } mutationType { name } subscriptionType { name }
  types {
    kind name description
    fields { name description type { ${TYPE} } args { name description type { ${TYPE} } } }
    inputFields { name description type { ${TYPE} } }
    enumValues { name description }
  }
} }`;

let types = new Map();

async function readSchema() {
  const response = await fetch(address, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ query: SCHEMA }),
  });
  const { data, errors } = await response.json();
  if (errors !== undefined) throw new Error(errors[0].message);
  types = new Map(data.__schema.types.map((type) => [type.name, type]));
  if (types.get("Query").fields.some(({ name }) => name === "root")) offer(TREE_EXAMPLES);
  showRoots();
}

const element = (name, text, ...children) => {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  made.append(...children);
  return made;
};

function link(text, open) {
  const button = element("button", text);
  button.type = "button";
  button.className = "link";
  button.addEventListener("click", open);
  return button;
}

const namedOf = (type) => (type.ofType ? namedOf(type.ofType) : type.name);
function wordsOf(type) {
  if (type.kind === "NON_NULL") return `${wordsOf(type.ofType)}!`;
  return type.kind === "LIST" ? `[${wordsOf(type.ofType)}]` : type.name;
}
const typeLink = (type) => link(wordsOf(type), () => showType(namedOf(type)));

function term({ name, type, args = [] }) {
  const made = element("dt", name);
  args.forEach((each, index) => {
    made.append(index === 0 ? "(" : ", ", `${each.name}: `, typeLink(each.type));
  });
  if (args.length > 0) made.append(")");
  if (type !== undefined) made.append(": ", typeLink(type));
  return made;
}

const list = (items) =>
  element(
    "dl",
    undefined,
    ...items.flatMap((item) => [term(item), element("dd", item.description ?? "")]),
  );

function showRoots() {
  at("path").replaceChildren(element("strong", "Schema"));
  const roots = ["Query", "Mutation", "Subscription"].filter((name) => types.has(name));
  at("docs").replaceChildren(
    ...roots.flatMap((name) => [
      element(
        "h3",
        undefined,
        link(name, () => showType(name)),
      ),
      element("p", types.get(name).description ?? ""),
    ]),
    element("h3", "Types"),
    ...[...types.keys()]
      .filter((name) => !name.startsWith("__") && !roots.includes(name))
      .sort((a, b) => a.localeCompare(b))
      .map((name) =>
        element(
          "div",
          undefined,
          link(name, () => showType(name)),
        ),
      ),
  );
}

function showType(name) {
  const type = types.get(name);
  at("path").replaceChildren(link("Schema", showRoots), ` › ${name}`);
  const items = type.fields ?? type.inputFields ?? type.enumValues ?? [];
  at("docs").replaceChildren(element("p", type.description ?? ""), list(items));
}

function search(words) {
  if (words === "") return showRoots();
  const wanted = words.toLowerCase();
  const found = [...types.values()]
    .filter(({ name }) => !name.startsWith("__"))
    .flatMap((type) => [
      ...(type.name.toLowerCase().includes(wanted) ? [[type.name, type.name]] : []),
      ...(type.fields ?? type.inputFields ?? [])
        .filter(({ name }) => name.toLowerCase().includes(wanted))
        .map(({ name }) => [`${type.name}.${name}`, type.name]),
    ]);
  at("path").replaceChildren(link("Schema", showRoots), ` › “${words}”`);
  at("docs").replaceChildren(
    ...found.slice(0, 200).map(([text, name]) =>
      element(
        "div",
        undefined,
        link(text, () => showType(name)),
      ),
    ),
  );
}

// The typed text survives a reload, in this browser only.

for (const id of ["query", "variables"]) {
  const area = at(id);
  area.value = localStorage.getItem(`busbar.graphql.${id}`) ?? area.value;
  area.addEventListener("input", () => localStorage.setItem(`busbar.graphql.${id}`, area.value));
  area.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      void run();
    }
  });
}
function offer(examples) {
  for (const [name, text] of Object.entries(examples))
    at("examples").append(new Option(name, text));
}
offer(EXAMPLES);
const useExample = () => {
  at("query").value = at("examples").value;
  at("query").dispatchEvent(new Event("input"));
};
at("examples").addEventListener("change", useExample);
if (at("query").value === "") useExample();
at("run").addEventListener("click", () => void run());
at("stop").addEventListener("click", () => running?.abort());
at("search").addEventListener("input", () => search(at("search").value.trim()));
readSchema().catch((error) => at("docs").replaceChildren(`The schema cannot be read: ${error}`));
