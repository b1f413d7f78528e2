package io.jccl.tuning;

import io.jccl.Algorithm;
import io.jccl.Protocol;
import io.jccl.nativelib.Numbers;
import java.lang.annotation.Native;

/**
 * How one operation is executed. A choice is packed into the {@code long} that is passed to native code:
 *
 * <pre>
 *  63                    32 31    24 23    16 15     8 7   4 3   0
 * +------------------------+--------+--------+--------+-----+-----+
 * |      chunk bytes       |   0    | flags  |channels|proto|algo |
 * +------------------------+--------+--------+--------+-----+-----+
 * flags: bit 0 = try zero copy first, and use the rest of the choice if not all buffers are shared
 *        bit 1 = set by native code in the choice that it returns: the buffers were used in place
 *        bit 2 = a two-shot direct all-reduce; with bit 3: an operation by shares
 *        bit 3 = a direct operation by hosts
 *        bit 4 = try copy engines first, and use the rest of the choice if not all inputs are in symmetric memory
 *        bit 5 = an operation by hosts whose leaders exchange data in rounds
 * </pre>
 *
 * @param algorithm the algorithm
 * @param protocol the protocol between two ranks
 * @param channels number of channels: channels 0 to channels-1 are used
 * @param chunkBytes payload bytes of one step
 * @param tryZeroCopy whether shared buffers may be read and written in place
 * @param twoShot whether a direct all-reduce is two-shot: a reduce-scatter, then an all-gather; in an operation by
 *     hosts: whether every rank exchanges a share of its host's data with other hosts
 * @param byHosts whether the ranks of a host act together towards other hosts in a direct operation; unless
 *     {@code twoShot}, only one of them sends to other hosts
 * @param tryCopies whether the copy engines of GPUs may move the data, out of the symmetric memory of peers
 * @param inRounds in an operation by hosts that is not {@code twoShot}: whether the ranks that send to other hosts do so
 *     in rounds, each with one partner, or with a root along a tree
 */
public record Choice(
        Algorithm algorithm,
        Protocol protocol,
        int channels,
        int chunkBytes,
        boolean tryZeroCopy,
        boolean twoShot,
        boolean byHosts,
        boolean tryCopies,
        boolean inRounds) {

    /** Flag of {@link #tryZeroCopy}. */
    @Native
    public static final int FLAG_TRY_ZERO_COPY = 1;
    /** Flag of a choice that native code returns: the buffers were used in place. */
    @Native
    private static final int FLAG_ZERO_COPY_USED = 2;
    /** Flag of {@link #twoShot}. */
    @Native
    public static final int FLAG_TWO_SHOT = 4;
    /** Flag of {@link #byHosts}. */
    @Native
    public static final int FLAG_BY_HOSTS = 8;
    /** Flag of {@link #tryCopies}. */
    @Native
    public static final int FLAG_TRY_COPIES = 16;
    /** Flag of {@link #inRounds}. */
    @Native
    public static final int FLAG_IN_ROUNDS = 32;

    // Places of the parts in the packed form; the algorithm has the lowest bits.

    @Native
    private static final int PROTOCOL_SHIFT = 4;

    @Native
    private static final int CHANNELS_SHIFT = 8;

    @Native
    private static final int FLAGS_SHIFT = 16;

    @Native
    private static final int CHUNK_SHIFT = 32;

    private static final int ALGORITHM_MASK = 0xf;
    private static final int PROTOCOL_MASK = 0xf;
    private static final int MAX_CHANNELS = 0xff;

    /** Checks that all values fit into the packed form. */
    public Choice {
        if (channels < 1 || channels > MAX_CHANNELS) {
            throw new IllegalArgumentException("channels=" + channels + ": expected 1 to " + MAX_CHANNELS);
        }
        if (chunkBytes < 1) {
            throw new IllegalArgumentException("chunkBytes=" + chunkBytes + ": expected 1 or more");
        }
    }

    /** A choice that tries no copy engines, and does nothing in rounds. */
    public Choice(
            Algorithm algorithm,
            Protocol protocol,
            int channels,
            int chunkBytes,
            boolean tryZeroCopy,
            boolean twoShot,
            boolean byHosts) {
        this(algorithm, protocol, channels, chunkBytes, tryZeroCopy, twoShot, byHosts, false, false);
    }

    /** A choice that is neither two-shot nor by hosts, and tries no copy engines. */
    public Choice(Algorithm algorithm, Protocol protocol, int channels, int chunkBytes, boolean tryZeroCopy) {
        this(algorithm, protocol, channels, chunkBytes, tryZeroCopy, false, false);
    }

    /** Returns this choice without use of shared buffers in place. */
    public Choice withoutZeroCopy() {
        return new Choice(algorithm, protocol, channels, chunkBytes, false, twoShot, byHosts, tryCopies, inRounds);
    }

    /** Returns this choice with use of shared buffers in place. */
    Choice tryingZeroCopy() {
        return new Choice(algorithm, protocol, channels, chunkBytes, true, twoShot, byHosts, tryCopies, inRounds);
    }

    /** Returns this choice with another number of channels. */
    Choice onChannels(int number) {
        return new Choice(algorithm, protocol, number, chunkBytes, tryZeroCopy, twoShot, byHosts, tryCopies, inRounds);
    }

    /** Returns this choice with another size of steps. */
    Choice inChunksOf(int bytes) {
        return new Choice(algorithm, protocol, channels, bytes, tryZeroCopy, twoShot, byHosts, tryCopies, inRounds);
    }

    /** Returns this choice for the case that the inputs of all ranks are in symmetric memory. */
    Choice tryingCopies() {
        return new Choice(algorithm, protocol, channels, chunkBytes, tryZeroCopy, twoShot, byHosts, true, inRounds);
    }

    /** Returns the packed form. */
    public long pack() {
        return Numbers.of(algorithm)
                | (long) Numbers.of(protocol) << PROTOCOL_SHIFT
                | (long) channels << CHANNELS_SHIFT
                | (tryZeroCopy ? (long) FLAG_TRY_ZERO_COPY << FLAGS_SHIFT : 0L)
                | (twoShot ? (long) FLAG_TWO_SHOT << FLAGS_SHIFT : 0L)
                | (byHosts ? (long) FLAG_BY_HOSTS << FLAGS_SHIFT : 0L)
                | (tryCopies ? (long) FLAG_TRY_COPIES << FLAGS_SHIFT : 0L)
                | (inRounds ? (long) FLAG_IN_ROUNDS << FLAGS_SHIFT : 0L)
                | (long) chunkBytes << CHUNK_SHIFT;
    }

    /**
     * Returns the choice that a packed form represents. For reports only, because it allocates; the methods for single
     * parts do not.
     */
    public static Choice unpack(long packed) {
        return new Choice(
                algorithm(packed),
                protocol(packed),
                channels(packed),
                chunkBytes(packed),
                triesZeroCopy(packed),
                isTwoShot(packed),
                isByHosts(packed),
                triesCopies(packed),
                (packed >>> FLAGS_SHIFT & FLAG_IN_ROUNDS) != 0);
    }

    /** Returns the algorithm of a packed choice. */
    public static Algorithm algorithm(long packed) {
        return Numbers.algorithm((int) (packed & ALGORITHM_MASK));
    }

    /** Returns the protocol of a packed choice. */
    public static Protocol protocol(long packed) {
        return Numbers.protocol((int) (packed >>> PROTOCOL_SHIFT & PROTOCOL_MASK));
    }

    /** Returns true if a packed choice has this algorithm and protocol. Any number may be passed as a choice. */
    static boolean has(long packed, Algorithm algorithm, Protocol protocol) {
        return (packed & ALGORITHM_MASK) == Numbers.of(algorithm)
                && (packed >>> PROTOCOL_SHIFT & PROTOCOL_MASK) == Numbers.of(protocol);
    }

    /** Returns the number of channels of a packed choice. */
    public static int channels(long packed) {
        return (int) (packed >>> CHANNELS_SHIFT & MAX_CHANNELS);
    }

    /** Returns the bytes of a step of a packed choice. */
    public static int chunkBytes(long packed) {
        return (int) (packed >>> CHUNK_SHIFT);
    }

    /** Returns true if a packed choice is two-shot. */
    public static boolean isTwoShot(long packed) {
        return (packed >>> FLAGS_SHIFT & FLAG_TWO_SHOT) != 0;
    }

    /** Returns true if a packed choice is by hosts. */
    public static boolean isByHosts(long packed) {
        return (packed >>> FLAGS_SHIFT & FLAG_BY_HOSTS) != 0;
    }

    /** Returns true if a packed choice that native code returned used the buffers in place. */
    public static boolean usedZeroCopy(long packed) {
        return (packed >>> FLAGS_SHIFT & FLAG_ZERO_COPY_USED) != 0;
    }

    /** Returns true if a packed choice asks for zero copy. */
    public static boolean triesZeroCopy(long packed) {
        return (packed >>> FLAGS_SHIFT & FLAG_TRY_ZERO_COPY) != 0;
    }

    /** Returns true if a packed choice asks for copy engines. */
    public static boolean triesCopies(long packed) {
        return (packed >>> FLAGS_SHIFT & FLAG_TRY_COPIES) != 0;
    }
}
