/** Works a value out once per object; the same thing comes up in thousands of worlds. */
export const memoise = <K extends object, V extends object>(workOut: (key: K) => V): ((key: K) => V) => {
  const known = new WeakMap<K, V>();
  return (key) => {
    const value = known.get(key) ?? workOut(key);
    known.set(key, value);
    return value;
  };
};
