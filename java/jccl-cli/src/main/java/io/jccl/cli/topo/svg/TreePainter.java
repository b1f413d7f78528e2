package io.jccl.cli.topo.svg;

import io.jccl.cli.output.Svg;
import io.jccl.cli.topo.HostTree;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Draws a tree over hosts: each host is a chip, with the hosts below it in the rows beneath. */
final class TreePainter {

    private static final double CHIP_HEIGHT = 22;
    private static final double ROW = 46;
    private static final double GAP = 8;
    /** Limit on the hosts in the picture; the others are only counted. */
    private static final int MAX_CHIPS = 64;

    private final Map<Integer, Box> chips = new LinkedHashMap<>();
    private final Map<Integer, Integer> hidden = new LinkedHashMap<>();
    private final HostTree tree;
    private final List<List<Integer>> below;
    private final double chipWidth;
    private final int levels;
    private double next;
    private double height;

    TreePainter(HostTree tree) {
        this.tree = tree;
        this.below = tree.below();
        this.levels = levels();
        String widest = tree.up().size() > MAX_CHIPS
                ? "+" + tree.up().size()
                : "" + tree.up().size();
        this.chipWidth = Math.max(26, TextStyle.NAME.width(widest) + 8);
        place(tree.root(), 0);
    }

    /** Returns the number of levels to draw: as many as fit the limit on chips, but at least two. */
    private int levels() {
        List<Integer> row = List.of(tree.root());
        int chipsSoFar = 0;
        int count = 0;
        while (!row.isEmpty() && (chipsSoFar + row.size() <= MAX_CHIPS || count < 2)) {
            chipsSoFar += row.size();
            count++;
            row = row.stream().flatMap(host -> below.get(host).stream()).toList();
        }
        return count;
    }

    private double place(int host, int level) {
        List<Double> middles = new ArrayList<>();
        if (level + 1 < levels) {
            below.get(host).forEach(child -> middles.add(place(child, level + 1)));
        } else if (!below.get(host).isEmpty()) {
            hidden.put(host, size(host) - 1);
        }
        double middle;
        if (middles.isEmpty()) {
            middle = next + chipWidth / 2;
            next += chipWidth + GAP;
        } else {
            middle = (middles.get(0) + middles.get(middles.size() - 1)) / 2;
        }
        Box chip = new Box(middle - chipWidth / 2, level * ROW, chipWidth, CHIP_HEIGHT);
        chips.put(host, chip);
        height = Math.max(height, chip.bottom() + (hidden.containsKey(host) ? 16 : 0));
        return middle;
    }

    private int size(int host) {
        int count = 0;
        List<Integer> open = new ArrayList<>(List.of(host));
        while (!open.isEmpty()) {
            count++;
            open.addAll(below.get(open.remove(open.size() - 1)));
        }
        return count;
    }

    double width() {
        return next - GAP;
    }

    double height() {
        return height;
    }

    /** Returns the chips by host. */
    Map<Integer, Box> chips() {
        return chips;
    }

    void draw(Svg svg) {
        chips.forEach((host, chip) -> {
            int above = tree.up().get(host);
            if (above >= 0) {
                Box parent = chips.get(above);
                double middle = (parent.bottom() + chip.y()) / 2;
                String path = "M" + Svg.number(chip.middleX()) + " " + Svg.number(chip.y())
                        + "C" + Svg.number(chip.middleX()) + " " + Svg.number(middle)
                        + " " + Svg.number(parent.middleX()) + " " + Svg.number(middle)
                        + " " + Svg.number(parent.middleX()) + " " + Svg.number(parent.bottom());
                svg.empty("path", "class", "wire plain", "d", path, "stroke-width", 2.0);
            }
        });
        chips.forEach((host, chip) -> {
            svg.empty(
                    "rect",
                    "x",
                    chip.x(),
                    "y",
                    chip.y(),
                    "width",
                    chip.width(),
                    "height",
                    chip.height(),
                    "rx",
                    5,
                    "class",
                    "page plain",
                    "data-machine",
                    host);
            String number = Integer.toString(host);
            new Label(TextStyle.NAME, number, chip.middleX(), chip.y() + 15, true, chip.width() - 4).draw(svg);
            if (hidden.containsKey(host)) {
                String others = "+" + hidden.get(host);
                new Label(TextStyle.SMALL, others, chip.middleX(), chip.bottom() + 12, true, chip.width()).draw(svg);
            }
        });
    }
}
