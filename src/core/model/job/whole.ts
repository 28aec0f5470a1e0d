import { invalid } from "../../../lib/errors.ts";

export interface WholeRule {
  readonly minimum: number;
  readonly maximum: number;
}

export function whole(value: number, field: string, { minimum, maximum }: WholeRule): number {
  if (!Number.isInteger(value) || value < minimum || value > maximum) {
    throw invalid(field, `must be a whole number from ${minimum} to ${maximum}, not ${value}`);
  }
  return value;
}
