package io.jccl.wire;

/**
 * The progress of a rank in the two sequences of a communicator: operations on host memory and operations on a device,
 * each numbered from 1. In a number that may belong to either sequence, bit 62 marks the device's sequence.
 *
 * @param host the last operation on host memory that the rank entered, 0 before the first
 * @param device the last operation on a device that the rank entered, without bit 62, 0 before the first
 */
public record LastEntered(long host, long device) {

    /** The progress of a rank that has entered no operation. */
    public static final LastEntered NOTHING = new LastEntered(0, 0);

    private static final long DEVICE = 1L << 62;

    /** Returns the number of an operation within the device's sequence, with bit 62 set in addition. */
    public static long onDevice(long sequence) {
        return sequence | DEVICE;
    }

    /** Returns true if bit 62 of a number is set, which marks an operation on a device. */
    public static boolean isOnDevice(long sequence) {
        return (sequence & DEVICE) != 0;
    }

    /** Returns a number without bit 62: the number within its own sequence. */
    public static long plain(long sequence) {
        return sequence & ~DEVICE;
    }

    /**
     * Returns the number within its own sequence and the name of that sequence, for messages: {@code 7},
     * {@code 7 (device)}.
     */
    public static String text(long sequence) {
        return plain(sequence) + (isOnDevice(sequence) ? " (device)" : "");
    }

    /**
     * Returns the number of the last operation in the sequence to which a given operation belongs. For the device's
     * sequence, bit 62 is set.
     */
    public long of(long sequence) {
        return isOnDevice(sequence) ? onDevice(device) : host;
    }

    /** Returns true if this rank has entered all operations that another rank has entered. */
    public boolean hasReached(LastEntered other) {
        return host >= other.host && device >= other.device;
    }

    /** Returns the last operations that both ranks have entered. */
    public LastEntered min(LastEntered other) {
        return new LastEntered(Math.min(host, other.host), Math.min(device, other.device));
    }

    public void write(WireWriter out) {
        out.i64(host).i64(device);
    }

    public static LastEntered read(WireReader in) {
        return new LastEntered(in.i64(), in.i64());
    }
}
