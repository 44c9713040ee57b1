"""Static analysis of components: control-flow graphs, and a path-sensitive analysis of each tuple's acks.

No module here knows a language or a rule.  The entry point is `component.solve_component`.

- `build` makes graphs, `program` links files and finds components, `expressions` are their queries;
- `state` defines the abstract domain; `pure_calls`, `facts`, `induction`, `aliases`, `invalidation` and `final_fields`
  decide which conditions a path remembers and when it forgets them;
- `transfer` holds the transfer functions of the steps;
- `solver` drives paths through a function, `component` through all handlers of a component;
- `events` is the result: what happened to tuples, and on which path; `witness` explains a path to the reader.
"""
