package io.jccl.runtime;

import io.jccl.DataBuffer;
import io.jccl.DataType;
import io.jccl.ReduceOp;
import io.jccl.Reduction;
import io.jccl.WireFormat;
import io.jccl.cuda.CudaSupport;
import io.jccl.internal.Arguments;
import io.jccl.wire.Limits;
import io.jccl.wire.RankList;
import java.time.Duration;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.SortedSet;
import java.util.TreeSet;

/** Checks the arguments of operations. Every message contains the values and the remedy. */
final class Checks {

    private Checks() {}

    static void root(int root, int size) {
        if (root < 0 || root >= size) {
            throw new IllegalArgumentException(
                    "root=" + root + " size=" + size + ": expected a rank from 0 to " + (size - 1));
        }
    }

    static void peer(int peer, int size) {
        if (peer < 0 || peer >= size) {
            throw new IllegalArgumentException(
                    "peer=" + peer + " size=" + size + ": expected a rank from 0 to " + (size - 1));
        }
    }

    /** Checks and returns a time-out that an application has chosen. */
    static Duration timeout(Duration timeout) {
        if (Arguments.required("timeout", timeout, "at least 1 millisecond").toMillis() < 1) {
            throw new IllegalArgumentException("timeout=" + timeout + ": expected at least 1 millisecond");
        }
        return timeout;
    }

    /** Checks and returns the ranks to exclude from a shrunk communicator; {@code rank} is the calling rank. */
    static SortedSet<Integer> excluded(Collection<Integer> ranks, int rank, int size) {
        String expected = "ranks of this communicator; an empty collection leaves out none";
        SortedSet<Integer> excluded = new TreeSet<>();
        for (Integer each : Arguments.required("excludedRanks", ranks, expected)) {
            excluded.add(Arguments.required("excludedRanks", each, expected));
        }
        if (!excluded.isEmpty() && (excluded.first() < 0 || excluded.last() >= size)) {
            throw new IllegalArgumentException("excludedRanks=" + RankList.text(excluded) + " size=" + size
                    + ": expected ranks from 0 to " + (size - 1));
        }
        if (excluded.contains(rank)) {
            throw new IllegalArgumentException("excludedRanks=" + RankList.text(excluded) + " rank=" + rank
                    + ": a rank that is left out does not call this; it closes its communicator");
        }
        return excluded;
    }

    /** Checks the survivors of a reformed communicator; returns the other ranks. {@code rank} is the calling rank. */
    static SortedSet<Integer> leaving(Collection<Integer> survivors, int joiners, int rank, int size) {
        String expected = "ranks of this communicator, this one included";
        SortedSet<Integer> staying = new TreeSet<>();
        for (Integer each : Arguments.required("survivors", survivors, expected)) {
            staying.add(Arguments.required("survivors", each, expected));
        }
        if (!staying.isEmpty() && (staying.first() < 0 || staying.last() >= size)) {
            throw new IllegalArgumentException("survivors=" + RankList.text(staying) + " size=" + size
                    + ": expected ranks from 0 to " + (size - 1));
        }
        if (!staying.contains(rank)) {
            throw new IllegalArgumentException("survivors=" + RankList.text(staying) + " rank=" + rank
                    + ": a rank that leaves does not call this; it closes its communicator");
        }
        if (joiners < 0 || joiners > Limits.MAX_RANKS - staying.size()) {
            throw new IllegalArgumentException("joiners=" + joiners + " survivors=" + RankList.text(staying)
                    + ": expected 0 to " + (Limits.MAX_RANKS - staying.size()) + " processes");
        }
        SortedSet<Integer> leaving = new TreeSet<>();
        for (int each = 0; each < size; each++) {
            if (!staying.contains(each)) {
                leaving.add(each);
            }
        }
        return leaving;
    }

    static void op(ReduceOp op, DataType type) {
        if (op == null) {
            throw new IllegalArgumentException("op=null: expected one of " + Arrays.toString(ReduceOp.values()));
        }
        if (!op.supports(type)) {
            throw new IllegalArgumentException("op=" + op.label() + " type=" + type.label()
                    + ": bitwise operations combine integers; pass a buffer of an integer type");
        }
    }

    static void wire(WireFormat wire) {
        Arguments.required("wire", wire, "a format, for example WireFormat.BFLOAT16");
    }

    static void wire(WireFormat wire, DataType type) {
        wire(wire);
        if (wire.encoding() != WireFormat.Encoding.EXACT && !WireFormat.supports(type)) {
            throw new IllegalArgumentException("wire=" + wire + " type=" + type.label()
                    + ": only float32 and float64 can be rounded between hosts; use WireFormat.EXACT for other types");
        }
    }

    static void reduction(Reduction reduction) {
        Arguments.required("reduction", reduction, "what Reduction.of or Reduction.ofNative returned");
    }

    /**
     * Checks the type of elements, and that counts are multiples of the reduction's unit.
     *
     * @param shards elements that each rank receives; null to check the count of {@code send}
     */
    static void units(Reduction reduction, DataBuffer send, long[] shards) {
        if (send.type() != reduction.type().orElse(send.type())) {
            throw new IllegalArgumentException("op=" + reduction + " type="
                    + send.type().label() + ": expected elements of the reduction's type "
                    + reduction.type().orElseThrow().label());
        }
        for (long count : shards == null ? new long[] {send.count()} : shards) {
            if (count % reduction.unit() != 0) {
                throw new IllegalArgumentException("op=" + reduction + " count=" + count + " unit=" + reduction.unit()
                        + ": expected counts that are multiples of the reduction's unit");
            }
        }
    }

    /** Checks buffers, all of which one operation writes; returns a copy of the list. */
    static List<DataBuffer> buffers(List<DataBuffer> buffers) {
        String expected = "at least one buffer";
        if (Arguments.required("buffers", buffers, expected).isEmpty()) {
            throw new IllegalArgumentException("buffers.size=0: expected " + expected);
        }
        for (int i = 0; i < buffers.size(); i++) {
            target("buffers[" + i + "]", buffers.get(i));
        }
        List<DataBuffer> all = List.copyOf(buffers);
        Aliasing.requireApart(all);
        return all;
    }

    /** Checks and returns a buffer that this rank reads. */
    static DataBuffer source(String name, DataBuffer buffer) {
        if (buffer == null) {
            throw new IllegalArgumentException(name + "=null: this rank needs a " + name + " buffer");
        }
        buffer.address(); // throws if the buffer is closed
        return buffer;
    }

    /** Returns true if the buffers, which may be null, are in device memory. Refuses device memory with host memory. */
    static boolean onDevice(DataBuffer first, DataBuffer second) {
        boolean device = isDevice(first) || isDevice(second);
        if (device && (first != null && !isDevice(first) || second != null && !isDevice(second))) {
            throw new IllegalArgumentException("send=" + first + " recv=" + second
                    + ": one is memory of a device and one of the host; pass both of one side");
        }
        return device;
    }

    static boolean isDevice(DataBuffer buffer) {
        return buffer != null && buffer.memory() == DataBuffer.Memory.DEVICE;
    }

    /** Checks that a buffer is in memory of the host, for calls that cannot use memory of a device. */
    static void onHost(String name, DataBuffer buffer) {
        if (isDevice(buffer)) {
            throw noDevice(name, buffer);
        }
    }

    /** Returns the exception for device memory on a communicator whose ranks have no device. */
    static IllegalArgumentException noDevice(String name, DataBuffer buffer) {
        List<String> missing = CudaSupport.missing();
        return new IllegalArgumentException(name + "=" + buffer + ": this communicator's ranks are on the host, which"
                + " cannot use memory of a device; give every rank a GPU (CommunicatorConfig.device), or copy it to memory"
                + " of the host and pass that"
                + (missing.isEmpty() ? "" : ". For ranks on GPUs: " + String.join(". ", missing)));
    }

    /** Checks and returns a buffer that this rank writes. */
    static DataBuffer target(String name, DataBuffer buffer) {
        source(name, buffer);
        if (buffer.isReadOnly()) {
            throw new IllegalArgumentException(
                    name + "=" + buffer + ": is read-only and cannot receive; pass a writable " + "buffer");
        }
        return buffer;
    }

    /** Refuses an average in an operation that cannot compute one. */
    static void notAverage(ReduceOp op, String why) {
        if (op == ReduceOp.AVG) {
            throw new IllegalArgumentException("op=avg: " + why + "; use SUM, and divide the result");
        }
    }

    static void sameType(DataBuffer send, DataBuffer recv) {
        sameType("send", send, "recv", recv);
    }

    private static void sameType(String firstName, DataBuffer first, String secondName, DataBuffer second) {
        if (first.type() != second.type()) {
            throw new IllegalArgumentException(
                    firstName + ".type=" + first.type().label() + " " + secondName + ".type="
                            + second.type().label() + ": expected the same type in both buffers");
        }
    }

    /** Checks that two buffers have the same type and count, and are the same memory or do not overlap. */
    static void sameCount(DataBuffer send, DataBuffer recv) {
        sameCount("send", send, "recv", recv);
    }

    /** Like {@link #sameCount(DataBuffer, DataBuffer)}, for buffers with other names. */
    static void sameCount(String firstName, DataBuffer first, String secondName, DataBuffer second) {
        sameType(firstName, first, secondName, second);
        if (first.count() != second.count()) {
            throw new IllegalArgumentException(
                    firstName + ".count=" + first.count() + " " + secondName + ".count=" + second.count()
                            + ": expected the same count in both buffers; set positions and limits, or use slice");
        }
        if (!Aliasing.isSame(first, second) && Aliasing.overlap(first, second)) {
            throw overlap(firstName, secondName, "all of " + secondName);
        }
    }

    /** Checks that {@code large} contains one block of {@code small}'s size for each rank. */
    static void blocks(String largeName, DataBuffer large, String smallName, DataBuffer small, int size) {
        sameType(small, large);
        if (large.count() % size != 0 || large.count() / size != small.count()) {
            throw new IllegalArgumentException(largeName + ".count=" + large.count() + " " + smallName + ".count="
                    + small.count() + " size=" + size + ": expected " + largeName + ".count = size * " + smallName
                    + ".count; set positions and limits, or use slice");
        }
    }

    /**
     * Checks that {@code small} is the block of {@code large} that begins at {@code offset}, or does not overlap
     * {@code large} at all.
     */
    static void blockOrApart(DataBuffer large, DataBuffer small, long offset, String block) {
        if (Aliasing.overlap(large, small) && !Aliasing.isSame(large.slice(offset, small.count()), small)) {
            throw overlap("send", "recv", block);
        }
    }

    static void apart(DataBuffer send, DataBuffer recv) {
        if (Aliasing.overlap(send, recv)) {
            throw new IllegalArgumentException("send and recv overlap: this operation does not work in place; pass "
                    + "buffers of separate memory");
        }
    }

    private static IllegalArgumentException overlap(String firstName, String secondName, String block) {
        return new IllegalArgumentException(
                firstName + " and " + secondName + " overlap in part: in place means that both begin at the same "
                        + "element, " + block + "; otherwise pass buffers of separate memory");
    }

    /**
     * Checks the counts of all ranks.
     *
     * @return a copy of the counts
     */
    static long[] counts(String name, long[] counts, int size) {
        if (counts == null || counts.length != size) {
            throw new IllegalArgumentException(name + ".length=" + (counts == null ? "null" : counts.length) + " size="
                    + size + ": expected one value per rank");
        }
        for (int i = 0; i < size; i++) {
            if (counts[i] < 0) {
                throw new IllegalArgumentException(name + "[" + i + "]=" + counts[i] + ": expected 0 or more");
            }
        }
        return counts.clone();
    }

    /** Checks that the sum of counts is the count of a buffer. */
    static void total(String name, long[] counts, String bufferName, DataBuffer buffer) {
        long left = buffer.count();
        for (long count : counts) {
            left = count > left ? -1 : left - count;
            if (left < 0) {
                break;
            }
        }
        if (left != 0) {
            throw new IllegalArgumentException(bufferName + ".count=" + buffer.count() + " " + name + "="
                    + Arrays.toString(counts) + ": expected a buffer of exactly all counts together");
        }
    }

    static void countOfThisRank(String name, long[] counts, int rank, String bufferName, DataBuffer buffer) {
        if (buffer.count() != counts[rank]) {
            throw new IllegalArgumentException(bufferName + ".count=" + buffer.count() + " " + name + "[" + rank + "]="
                    + counts[rank] + ": expected as many elements as this rank's count");
        }
    }

    /**
     * Checks that all blocks are within the buffer.
     *
     * @param side beginning of the names of the counts and offsets; may be empty
     */
    static void within(String side, long[] counts, long[] offsets, String bufferName, DataBuffer buffer) {
        for (int i = 0; i < counts.length; i++) {
            if (counts[i] > buffer.count() || offsets[i] > buffer.count() - counts[i]) {
                throw new IllegalArgumentException(block(side, counts, offsets, i) + " " + bufferName + ".count="
                        + buffer.count() + ": the block lies outside of the buffer");
            }
        }
    }

    /** Checks that received blocks do not overlap each other; {@code side} is as for {@link #within}. */
    static void disjoint(String side, long[] counts, long[] offsets) {
        Integer[] order = new Integer[counts.length];
        Arrays.setAll(order, i -> i);
        Arrays.sort(order, (a, b) -> Long.compare(offsets[a], offsets[b]));
        int before = -1;
        for (int i : order) {
            if (counts[i] == 0) {
                continue;
            }
            if (before >= 0 && offsets[before] + counts[before] > offsets[i]) {
                throw new IllegalArgumentException(block(side, counts, offsets, before) + " "
                        + name(side, "offsets") + "[" + i + "]=" + offsets[i]
                        + ": the blocks overlap; give each rank a place of its own");
            }
            before = i;
        }
    }

    private static String block(String side, long[] counts, long[] offsets, int i) {
        return name(side, "offsets") + "[" + i + "]=" + offsets[i] + " " + name(side, "counts") + "[" + i + "]="
                + counts[i];
    }

    private static String name(String side, String what) {
        return side.isEmpty() ? what : side + what.substring(0, 1).toUpperCase(Locale.ROOT) + what.substring(1);
    }
}
