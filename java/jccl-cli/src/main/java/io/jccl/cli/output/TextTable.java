package io.jccl.cli.output;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** A text table with left-aligned columns, each as wide as its widest cell; the last column is not padded. */
public final class TextTable {

    private static final int GAP = 2;
    private static final int LEAST_WIDTH = 40;
    private static final int BELOW = 6;

    private final List<String[]> rows = new ArrayList<>();
    private final int columns;

    /** Creates a table with these column headings. */
    public TextTable(String... headings) {
        columns = headings.length;
        rows.add(headings);
    }

    /** Adds a row; missing cells stay empty. */
    public TextTable row(String... cells) {
        String[] row = Arrays.copyOf(cells, columns);
        for (int i = cells.length; i < columns; i++) {
            row[i] = "";
        }
        rows.add(row);
        return this;
    }

    /** Returns the table as lines of any width. */
    @Override
    public String toString() {
        return text(Integer.MAX_VALUE);
    }

    /**
     * Returns the table as lines of at most {@code width} characters. The text of the last column continues on further
     * lines of the same column, or on lines below the row if less than {@value #LEAST_WIDTH} characters are left for
     * the column. Cells of other columns are never divided.
     */
    public String wrapped(int width) {
        return text(width);
    }

    private String text(int width) {
        int[] widths = new int[columns];
        for (String[] row : rows) {
            for (int i = 0; i < columns; i++) {
                widths[i] = Math.max(widths[i], row[i].length());
            }
        }
        int before =
                Arrays.stream(widths, 0, columns - 1).map(cell -> cell + GAP).sum();
        boolean isBelow = width - before < LEAST_WIDTH;
        int indent = isBelow ? BELOW : before;
        StringBuilder out = new StringBuilder();
        for (String[] row : rows) {
            StringBuilder line = new StringBuilder();
            for (int i = 0; i < columns - 1; i++) {
                line.append(row[i]).append(" ".repeat(widths[i] - row[i].length() + GAP));
            }
            List<String> parts = parts(row[columns - 1], Math.max(LEAST_WIDTH, width - indent));
            if (isBelow) {
                out.append(line.toString().stripTrailing()).append('\n');
                line.setLength(0);
                line.append(" ".repeat(indent));
            }
            for (String part : parts) {
                out.append((line + part).stripTrailing()).append('\n');
                line.setLength(0);
                line.append(" ".repeat(indent));
            }
        }
        return out.toString();
    }

    /**
     * Divides a text at spaces into lines of at most {@code width} characters; a longer word gets a line of its own.
     */
    private static List<String> parts(String text, int width) {
        List<String> parts = new ArrayList<>();
        String rest = text;
        while (rest.length() > width) {
            int space = rest.lastIndexOf(' ', width);
            space = space > 0 ? space : rest.indexOf(' ', width);
            if (space < 0) {
                break;
            }
            parts.add(rest.substring(0, space));
            rest = rest.substring(space + 1);
        }
        parts.add(rest);
        return parts;
    }
}
