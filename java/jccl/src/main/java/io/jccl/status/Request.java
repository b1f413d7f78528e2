package io.jccl.status;

import io.jccl.bootstrap.WireException;
import io.jccl.bootstrap.WireReader;
import io.jccl.bootstrap.WireWriter;
import io.jccl.internal.Causes;
import io.jccl.nativelib.NativeLoader;

/**
 * What somebody asks a process.
 *
 * @param kind what about
 * @param communicator the short name of the communicator whose operation is asked about; empty for none
 * @param sequence the operation, see {@link io.jccl.bootstrap.LastEntered}; 0 for the one that each rank entered last
 * @param dumpFolder where each rank dumps what it remembers, on its own host; empty: nowhere
 */
public record Request(Kind kind, String communicator, long sequence, String dumpFolder) {

    /** What is asked about. The order of the constants is part of the wire format. */
    public enum Kind {
        /** The process alone. */
        PROCESS,
        /** All processes of the job: the one that is asked asks the others. */
        JOB
    }

    /** The longest request. */
    static final int MAX_BYTES = 4096;

    private static final int FORMAT = 1;
    private static final int MAX_TEXT = 200;
    private static final int MAX_FOLDER = 700;

    /** Whatever each rank did last. */
    public static Request latest(Kind kind) {
        return new Request(kind, "", 0, "");
    }

    /** The same of the process alone. */
    public Request ofProcess() {
        return new Request(Kind.PROCESS, communicator, sequence, dumpFolder);
    }

    /** What both sides must run: the same library. */
    static String version() {
        return "format " + FORMAT + ", build " + NativeLoader.buildId();
    }

    /**
     * Checks the folder.
     *
     * @throws IllegalArgumentException if its name is too long or relative
     */
    public Request {
        if (dumpFolder.length() > MAX_FOLDER || !dumpFolder.isEmpty() && !dumpFolder.startsWith("/")) {
            throw new IllegalArgumentException("folder=\"" + dumpFolder + "\": expected an absolute path of at most "
                    + MAX_FOLDER + " characters");
        }
    }

    byte[] encode() {
        return new WireWriter()
                .text(version(), MAX_TEXT)
                .u8(kind.ordinal())
                .text(communicator, MAX_TEXT)
                .i64(sequence)
                .text(dumpFolder, MAX_FOLDER)
                .toBytes();
    }

    /**
     * Reads what {@link #encode} wrote.
     *
     * @throws WireException if it makes no sense
     * @throws OtherVersionException if it comes from another version of JCCL
     */
    static Request decode(byte[] bytes) {
        WireReader in = new WireReader(bytes);
        String theirs = in.text(MAX_TEXT);
        if (!theirs.equals(version())) {
            throw new OtherVersionException(
                    "this process runs JCCL of version=\"" + version() + "\", the one that asks version=\"" + theirs
                            + "\"; use the jccl command of the job's own version");
        }
        Request request = checked(in.constant(Kind.class), in.text(MAX_TEXT), in.i64(), in.text(MAX_FOLDER));
        in.end();
        return request;
    }

    private static Request checked(Kind kind, String communicator, long sequence, String dumpFolder) {
        try {
            return new Request(kind, communicator, sequence, dumpFolder);
        } catch (IllegalArgumentException e) {
            throw new WireException(Causes.describe(e));
        }
    }

    /** The other side runs another version. */
    static final class OtherVersionException extends RuntimeException {

        private static final long serialVersionUID = 1;

        OtherVersionException(String message) {
            super(message);
        }
    }
}
