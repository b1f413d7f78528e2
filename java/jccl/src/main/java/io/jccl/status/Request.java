package io.jccl.status;

import io.jccl.internal.Causes;
import io.jccl.nativelib.NativeLoader;
import io.jccl.wire.WireException;
import io.jccl.wire.WireReader;
import io.jccl.wire.WireWriter;

/**
 * A question to a process.
 *
 * @param kind the scope of the question
 * @param communicator the short name of the communicator whose operation is asked about; empty for none
 * @param sequence the operation, see {@link io.jccl.wire.LastEntered}; 0 for the one that each rank entered last
 * @param dumpFolder the folder on its own host in which each rank dumps what it remembers; empty for no dump
 */
public record Request(Kind kind, String communicator, long sequence, String dumpFolder) {

    /** The scope of a question. The order of the constants is part of the wire format. */
    public enum Kind {
        /** Only the process that is asked. */
        PROCESS,
        /** All processes of the job. The process that is asked asks the others. */
        JOB
    }

    /** The largest number of bytes of a request. */
    static final int MAX_BYTES = 4096;

    private static final int FORMAT = 1;
    private static final int MAX_TEXT = 200;
    private static final int MAX_FOLDER = 700;

    /** Returns a request for the last operation of each rank. */
    public static Request latest(Kind kind) {
        return new Request(kind, "", 0, "");
    }

    /** Returns this request with the scope of a single process. */
    public Request ofProcess() {
        return new Request(Kind.PROCESS, communicator, sequence, dumpFolder);
    }

    /** Returns the version of the library, which must be the same on both sides. */
    static String version() {
        return "format " + FORMAT + ", build " + NativeLoader.buildId();
    }

    /**
     * Checks the folder.
     *
     * @throws IllegalArgumentException if the folder's name is too long or relative
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
     * Reads the bytes that {@link #encode} wrote.
     *
     * @throws WireException if the bytes are not a request
     * @throws OtherVersionException if the request comes from another version of JCCL
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
