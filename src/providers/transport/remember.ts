/** Remembers by identity what a value is turned into; the memory goes when the value does. */
export function remember<K extends object, V>(turn: (key: K) => V): (key: K) => V {
  const memo = new WeakMap<K, { readonly value: V }>();
  return (key) => {
    let known = memo.get(key);
    if (!known) {
      known = { value: turn(key) };
      memo.set(key, known);
    }
    return known.value;
  };
}
