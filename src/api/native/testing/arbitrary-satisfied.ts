import * as fc from "fast-check";
import type {
  ClusterAnswerView,
  SatisfyView,
  SelectionView,
} from "../../../server/views/satisfy-view.ts";
import { count, name, record, text, wide } from "./arbitrary-values.ts";
import { kind } from "./arbitrary-views.ts";

const answers = record<ClusterAnswerView>(
  {
    cluster: name,
    kind,
    ever: fc.boolean(),
    now: fc.boolean(),
    slots: wide,
    alternative: count,
    reasons: fc.array(text, { maxLength: 2 }),
  },
  [],
);

const selections = record<SelectionView>(
  {
    strategy: name,
    chosen: name,
    ranked: fc.array(name, { maxLength: 3 }),
    dropped: fc.array(fc.record({ name, reason: text }), { maxLength: 3 }),
  },
  ["chosen"],
);

export const satisfied = record<SatisfyView>(
  {
    ever: fc.array(name, { maxLength: 3 }),
    now: fc.array(name, { maxLength: 3 }),
    tasks: fc.array(fc.record({ name: text, clusters: fc.array(answers, { maxLength: 2 }) }), {
      maxLength: 2,
    }),
    oneAfterOther: fc.array(name, { maxLength: 2 }),
    selection: selections,
    revision: wide,
  },
  ["selection"],
);
