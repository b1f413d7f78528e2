package io.jccl.cli.output;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** A table of left-aligned columns as wide as their widest cell; the last column is not padded. */
public final class TextTable {

    private final List<String[]> rows = new ArrayList<>();
    private final int columns;

    /** A table with these column headings. */
    public TextTable(String... headings) {
        columns = headings.length;
        rows.add(headings);
    }

    /** Adds a row; missing cells are empty. */
    public TextTable row(String... cells) {
        String[] row = Arrays.copyOf(cells, columns);
        for (int i = cells.length; i < columns; i++) {
            row[i] = "";
        }
        rows.add(row);
        return this;
    }

    /** The table as lines. */
    @Override
    public String toString() {
        int[] widths = new int[columns];
        for (String[] row : rows) {
            for (int i = 0; i < columns; i++) {
                widths[i] = Math.max(widths[i], row[i].length());
            }
        }
        StringBuilder out = new StringBuilder();
        for (String[] row : rows) {
            StringBuilder line = new StringBuilder();
            for (int i = 0; i < columns; i++) {
                line.append(row[i]);
                if (i < columns - 1) {
                    line.append(" ".repeat(widths[i] - row[i].length() + 2));
                }
            }
            out.append(line.toString().stripTrailing()).append('\n');
        }
        return out.toString();
    }
}
