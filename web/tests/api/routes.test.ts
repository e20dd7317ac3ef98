import { compareUrl } from "../../src/api/routes";
import { expect, it } from "vitest";

it("URLs name both sides", () => {
  expect(compareUrl("1", "2", true, "row", { kind: "self", row: 3 })).toBe(
    "api/compare/row?a=1&b=2&kind=self&row=3&words=1",
  );
  expect(compareUrl("1", "2", false)).toBe("api/compare?a=1&b=2");
});
