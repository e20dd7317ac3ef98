declare module "virtual:colour-tables" {
  const tables: Record<"viridis" | "cividis" | "Blues", string>;
  export default tables;
}
