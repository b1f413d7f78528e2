package io.jccl.cli.perf;

import io.jccl.cli.output.Colour;
import java.util.Locale;

/** Formats the table of results for people, with the columns in the order of nccl-tests. */
final class PerfTable {

    private static final String SIDE_HEAD = "%10s %7s %7s %6s";

    private static final int TYPE_WIDTH = 9; // as in nccl-tests; a longer name widens the column

    private final boolean colours;
    private final String typeColumn;

    /** @param type label of the type, which is the same in all rows */
    PerfTable(boolean colours, String type) {
        this.colours = colours;
        this.typeColumn = "%" + Math.max(TYPE_WIDTH, type.length()) + "s";
    }

    /** Returns lines that explain the columns. */
    static String legend(PerfCollective collective, int ranks) {
        String factor = String.format(Locale.ROOT, "%.3g", Shape.busFactor(collective.kind(), ranks));
        return "# size: the most bytes that one rank sends or expects; time: mean of the slowest rank; GB: 1e9 bytes\n"
                + "# algbw: size / time; busbw: algbw x " + factor
                + (collective.vector() ? ", as with equal blocks" : ", the load of the slowest link")
                + "; -: not measured; N/A: not checked\n"
                + (collective.vector()
                        ? "# block i of n has i / (1 + 2 + ... + n) of the size; count: elements of the largest block\n"
                        : "");
    }

    /** Returns the headings, which are three lines. */
    String head() {
        String left = "#%11s %12s " + typeColumn + " %6s %6s ";
        String side = String.format(SIDE_HEAD, "time", "algbw", "busbw", "#wrong");
        String units = String.format(SIDE_HEAD, "(us)", "(GB/s)", "(GB/s)", "");
        int width = side.length();
        return String.format(left, "", "", "", "", "") + centre("out-of-place", width) + "  "
                + centre("in-place", width).stripTrailing() + "\n"
                + String.format(left, "size", "count", "type", "redop", "root") + side + "  " + side
                + "   algo  proto ch\n"
                + String.format(left, "(B)", "(elements)", "", "", "") + units + "  " + units.stripTrailing() + "\n";
    }

    /** Returns the headings with columns for another library, which are three lines. */
    String headWithPeer() {
        String[] lines = head().split("\n");
        return lines[0] + "\n" + lines[1] + "  nccl(out) ratio   nccl(in) ratio\n" + lines[2] + "\n";
    }

    /** Returns the line of one size. */
    String row(PerfRow row) {
        return ownPart(row) + row.peer().map(other -> peerPart(row, other)).orElse("") + "\n";
    }

    private static String peerPart(PerfRow row, PerfRow.PeerTimes other) {
        return peerPart(row.outOfPlace(), other.outOfPlace()) + peerPart(row.inPlace(), other.inPlace());
    }

    private static String peerPart(PerfRow.Side own, PerfRow.Side other) {
        Double ratio = own.ratioTo(other);
        return ratio == null
                ? String.format("  %9s %5s", "-", "-")
                : String.format(Locale.ROOT, "  %9s %5.2f", time(other.p50Us()), ratio);
    }

    private String ownPart(PerfRow row) {
        return String.format(
                Locale.ROOT,
                "%12d %12d " + typeColumn + " %6s %6d %s  %s %6s %6s %2d",
                row.bytes(),
                row.count(),
                row.type(),
                row.op(),
                row.root(),
                side(row.outOfPlace()),
                side(row.inPlace()),
                row.execution().algorithm().label(),
                row.execution().protocol().label(),
                row.execution().channels());
    }

    private String side(PerfRow.Side side) {
        String wrong = String.format("%6s", side.wrong() == null || side.timeUs() == null ? "N/A" : side.wrong());
        boolean bad = side.wrong() != null && side.wrong() > 0;
        String painted = bad ? Colour.RED.paint(wrong, colours) : wrong;
        if (side.timeUs() == null) {
            return String.format(SIDE_HEAD, "-", "-", "-", painted);
        }
        return String.format(
                        Locale.ROOT,
                        "%10s %7s %7s ",
                        time(side.timeUs()),
                        bandwidth(side.algbwGBps()),
                        bandwidth(side.busbwGBps()))
                + painted;
    }

    /** Formats microseconds, with fewer decimals for larger values. */
    static String time(double us) {
        int decimals = us < 10 ? 3 : us < 1000 ? 2 : us < 100_000 ? 1 : 0;
        return String.format(Locale.ROOT, "%." + decimals + "f", us);
    }

    private static String bandwidth(double gbps) {
        return String.format(Locale.ROOT, gbps < 1000 ? "%.2f" : "%.0f", gbps);
    }

    private static String centre(String text, int width) {
        int left = (width - text.length()) / 2;
        return " ".repeat(left) + text + " ".repeat(width - text.length() - left);
    }
}
