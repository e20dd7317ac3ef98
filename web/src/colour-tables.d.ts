declare module "virtual:colour-tables" {
  const tables: Record<"viridis" | "cividis" | "Blues" | "RdBu", string>;
  export default tables;
}
