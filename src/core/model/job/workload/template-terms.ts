import type { JobTerms, Texts } from "../job.ts";
import type { JobSpecInput } from "../job-spec.ts";

interface Template {
  readonly input: JobSpecInput;
  terms: JobTerms | undefined;
}

/** By the labels of the template, which its jobs share. */
const templates = new WeakMap<Texts, Template>();

/**
 * Many jobs will be submitted with `{ ...input, name }`: their terms are checked once, and shared. Remembered
 * while the caller holds the labels of the input, which is never changed.
 */
export function shareTemplate<Input extends JobSpecInput & { readonly labels: Texts }>(
  input: Input,
): Input {
  templates.set(input.labels, { input, terms: undefined });
  return input;
}

/** The terms of an input; those of its template, if nothing but its name differs from that. */
export function termsByTemplate(input: JobSpecInput, make: () => JobTerms): JobTerms {
  const { labels } = input;
  const template = labels === undefined ? undefined : templates.get(labels);
  if (template === undefined || !isOf(template.input, input)) return make();
  return (template.terms ??= make());
}

/** Compares identities: equal objects that are not the template's may change later. */
function isOf(template: JobSpecInput, input: JobSpecInput): boolean {
  // A selection is counted for each submission.
  return input.select === undefined && hasAllOf(template, input) && hasAllOf(input, template);
}

function hasAllOf(one: JobSpecInput, other: JobSpecInput): boolean {
  for (const name in one) {
    const field = name as keyof JobSpecInput;
    if (field !== "name" && one[field] !== other[field]) return false;
  }
  return true;
}
