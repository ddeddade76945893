/** The value below which a share `q` of all values lies. */
export function quantile(values: readonly number[], q: number): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length * q)] ?? Number.NaN;
}

export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}
