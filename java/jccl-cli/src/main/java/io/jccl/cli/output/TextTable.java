package io.jccl.cli.output;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** A table of left-aligned columns as wide as their widest cell; the last column is not padded. */
public final class TextTable {

    private static final int GAP = 2;
    private static final int LEAST_WIDTH = 40;
    private static final int BELOW = 6;

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
        return text(Integer.MAX_VALUE);
    }

    /**
     * The table as lines of at most {@code width} characters: the last column is continued below itself, or below its row
     * where less than {@value #LEAST_WIDTH} characters are left for it. A cell of another column is never divided.
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

    /** A text in lines of at most {@code width} characters, divided at spaces; a longer word has a line of its own. */
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
