package io.jccl.bootstrap;

/**
 * How far a rank has come in the two sequences of a communicator: the operations on memory of the host, and those on a
 * device, each numbered from 1. Where one number stands for either, those of the device have bit 62 set.
 *
 * @param host the last operation that it entered on memory of the host, 0 before the first
 * @param device the same on a device, without the bit
 */
public record LastEntered(long host, long device) {

    /** Nothing was entered. */
    public static final LastEntered NOTHING = new LastEntered(0, 0);

    private static final long DEVICE = 1L << 62;

    /** The number that stands for an operation on a device. */
    public static long onDevice(long sequence) {
        return sequence | DEVICE;
    }

    /** Whether a number stands for an operation on a device. */
    public static boolean isOnDevice(long sequence) {
        return (sequence & DEVICE) != 0;
    }

    /** The number in its own sequence. */
    public static long plain(long sequence) {
        return sequence & ~DEVICE;
    }

    /** The number in its own sequence, and which that is, for messages: {@code 7}, {@code 7 (device)}. */
    public static String text(long sequence) {
        return plain(sequence) + (isOnDevice(sequence) ? " (device)" : "");
    }

    /** The last of the sequence that an operation belongs to, as a number of that sequence. */
    public long of(long sequence) {
        return isOnDevice(sequence) ? onDevice(device) : host;
    }

    /** Whether all that another had entered was entered. */
    boolean hasReached(LastEntered other) {
        return host >= other.host && device >= other.device;
    }

    /** What both have entered. */
    LastEntered min(LastEntered other) {
        return new LastEntered(Math.min(host, other.host), Math.min(device, other.device));
    }

    void write(WireWriter out) {
        out.i64(host).i64(device);
    }

    static LastEntered read(WireReader in) {
        return new LastEntered(in.i64(), in.i64());
    }
}
