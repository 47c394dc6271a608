"""How things look on a terminal, and to programs: streams, styles, widths, lists, charts, pager and picker."""
