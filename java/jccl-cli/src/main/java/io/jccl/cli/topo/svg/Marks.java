package io.jccl.cli.topo.svg;

import io.jccl.cli.topo.ChannelGroup;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.stream.IntStream;

/**
 * Places the numbers of channels on their routes: on every step that has space for them, and on at least one step of
 * each group.
 */
final class Marks {

    static final double HEIGHT = 10;

    /** Space that a mark keeps free on a line in addition to its own length. */
    private static final double MARGIN = 4;

    private static final double LONGEST = 44;

    /** Positions along a line, as shares of its length, in the order in which they are tried. */
    private static final double[] PLACES = {0.5, 0.35, 0.65, 0.2, 0.8};

    private final Lanes lanes;
    private final List<ChannelGroup> groups;
    private final List<Line> lines = new ArrayList<>();
    private final List<Box> taken;
    private final List<Mark> marks = new ArrayList<>();

    /**
     * The numbers of a group of channels at a position of its route.
     *
     * @param group number of the group
     * @param box its border
     * @param label the numbers
     */
    record Mark(int group, Box box, Label label) {}

    /** A straight line of a step, from corner to corner. */
    private record Line(int step, Box box, boolean horizontal) {
        double length() {
            return Math.max(box.width(), box.height());
        }
    }

    /**
     * Places the marks.
     *
     * @param names areas that marks must not cover
     */
    Marks(Layout layout, Lanes lanes, List<ChannelGroup> groups, List<Box> names) {
        this.lanes = lanes;
        this.groups = groups;
        this.taken = new ArrayList<>(names);
        Corners corners = new Corners(layout, lanes);
        for (int step = 0; step < lanes.traces().size(); step++) {
            addLines(step, corners.of(step));
        }
        for (int group = 0; group < groups.size(); group++) {
            place(group);
        }
    }

    private void addLines(int step, List<double[]> points) {
        for (int i = 0; i + 1 < points.size(); i++) {
            double[] from = points.get(i);
            double[] to = points.get(i + 1);
            double width = Math.abs(from[0] - to[0]);
            double height = Math.abs(from[1] - to[1]);
            Box box = new Box(Math.min(from[0], to[0]), Math.min(from[1], to[1]), width, height);
            lines.add(new Line(step, box, from[1] == to[1]));
        }
    }

    private void place(int group) {
        List<Integer> steps = IntStream.range(0, lanes.traces().size())
                .filter(step -> lanes.traces().get(step).group() == group)
                .boxed()
                .toList();
        boolean marked = false;
        for (int step : steps) {
            marked |= place(group, List.of(step), true);
        }
        if (!marked && !place(group, steps, false)) {
            ofSteps(steps).stream().findFirst().ifPresent(line -> add(group, at(group, line, PLACES[0])));
        }
    }

    /**
     * Places a mark on one of some steps if there is space.
     *
     * @param clear true if no other route may run below the mark
     * @return true if there was space
     */
    private boolean place(int group, List<Integer> steps, boolean clear) {
        for (Line line : ofSteps(steps)) {
            for (double place : PLACES) {
                Box box = at(group, line, place);
                double needed = line.horizontal ? box.width() : box.height();
                if (line.length() >= needed + MARGIN && isFree(box, line, clear)) {
                    add(group, box);
                    return true;
                }
            }
        }
        return false;
    }

    /** Returns the lines of some steps: horizontal lines before vertical ones, and longer lines before shorter ones. */
    private List<Line> ofSteps(List<Integer> steps) {
        return lines.stream()
                .filter(line -> steps.contains(line.step))
                .sorted(Comparator.comparing((Line line) -> !line.horizontal)
                        .thenComparingDouble(line -> -line.length()))
                .toList();
    }

    private Box at(int group, Line line, double place) {
        double width = TextStyle.CHANNEL.width(text(groups.get(group))) + 6;
        double x = line.box.x() + line.box.width() * place;
        double y = line.box.y() + line.box.height() * place;
        return new Box(x - width / 2, y - HEIGHT / 2, width, HEIGHT);
    }

    /**
     * Returns true if there is space for a mark. Lanes parallel to a horizontal line leave space for it; lanes parallel
     * to a vertical line do not.
     */
    private boolean isFree(Box box, Line line, boolean clear) {
        return taken.stream().noneMatch(box::overlaps)
                && (!clear
                        || lines.stream()
                                .filter(other -> other.step != line.step && !(line.horizontal && other.horizontal))
                                .noneMatch(other -> box.overlaps(other.box.grow(2))));
    }

    private void add(int group, Box box) {
        taken.add(box.grow(1));
        marks.add(new Mark(group, box, label(groups.get(group), box)));
    }

    /** Returns the marks of all groups. */
    List<Mark> all() {
        return marks;
    }

    /** Returns the numbers of a group as they appear on its route, cut if too long; the legend contains all of them. */
    static String text(ChannelGroup group) {
        return TextStyle.CHANNEL.cut(group.numbers(), LONGEST);
    }

    /** Returns the numbers of a group inside a border. */
    static Label label(ChannelGroup group, Box box) {
        return new Label(TextStyle.CHANNEL, text(group), box.middleX(), box.middleY() + 3, true, box.width() - 2);
    }
}
