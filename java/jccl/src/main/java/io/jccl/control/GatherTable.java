package io.jccl.control;

import io.jccl.wire.FrameType;
import io.jccl.wire.WireException;
import io.jccl.wire.WireReader;
import io.jccl.wire.WireWriter;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;

/**
 * The parts of a gather as bytes. Most ranks send nearly the same part as the previous rank, so the table contains the
 * differences:
 *
 * <pre>
 *   ranks in a row that sent this part │ prefix │ suffix │ length │ middle
 * </pre>
 *
 * <p>A part consists of the first {@code prefix} bytes of the previous part, the middle of {@code length} bytes, and
 * the last {@code suffix} bytes of the previous part.
 */
public final class GatherTable {

    private static final byte[] NOTHING = new byte[0];

    private GatherTable() {}

    /** Writes the parts of all ranks. */
    static void write(WireWriter out, byte[][] parts) {
        byte[] before = NOTHING;
        for (int rank = 0, end; rank < parts.length; rank = end) {
            byte[] part = parts[rank];
            for (end = rank + 1; end < parts.length && Arrays.equals(parts[end], part); ) {
                end++;
            }
            int shorter = Math.min(part.length, before.length);
            int prefix = Arrays.mismatch(part, 0, shorter, before, 0, shorter);
            prefix = prefix < 0 ? shorter : prefix;
            int suffix = 0;
            while (suffix < shorter - prefix && part[part.length - 1 - suffix] == before[before.length - 1 - suffix]) {
                suffix++;
            }
            out.count(end - rank).count(prefix).count(suffix).count(part.length - prefix - suffix);
            out.raw(Arrays.copyOfRange(part, prefix, part.length - suffix));
            before = part;
        }
    }

    /**
     * Reads a table that {@link #write} wrote.
     *
     * @return the parts by rank; equal parts of successive ranks are the same array
     */
    static List<byte[]> read(WireReader in, int size) {
        List<byte[]> parts = new ArrayList<>(size);
        byte[] before = NOTHING;
        long bytes = 0;
        while (parts.size() < size) {
            int ranks = in.countIn("ranks", 1, size - parts.size());
            int prefix = in.countIn("prefix", 0, before.length);
            int suffix = in.countIn("suffix", 0, before.length - prefix);
            int middle = in.countIn("length", 0, OutOfBand.MAX_PAYLOAD_BYTES - prefix - suffix);
            bytes += prefix + suffix + middle;
            if (bytes > FrameType.MAX_BODY_BYTES) {
                throw new WireException("gathered bytes=" + bytes + ": expected at most " + FrameType.MAX_BODY_BYTES);
            }
            byte[] part = new byte[prefix + middle + suffix];
            System.arraycopy(before, 0, part, 0, prefix);
            in.raw(part, prefix, middle);
            System.arraycopy(before, before.length - suffix, part, prefix + middle, suffix);
            parts.addAll(Collections.nCopies(ranks, part));
            before = part;
        }
        in.end();
        return Collections.unmodifiableList(parts);
    }
}
