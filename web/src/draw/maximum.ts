// The largest of some numbers that are not negative; 0 where there are none.
export function maximum(values: ArrayLike<number>): number {
  let most = 0;
  for (let i = 0; i < values.length; ++i) most = Math.max(most, values[i]);
  return most;
}
