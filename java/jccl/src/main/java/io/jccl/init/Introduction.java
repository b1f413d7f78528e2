package io.jccl.init;

import io.jccl.BootstrapException;
import io.jccl.wire.WireException;
import io.jccl.wire.WireReader;
import io.jccl.wire.WireWriter;

/**
 * The information that a rank sends to the others of a communicator that inherits all else.
 *
 * @param name the communicator's name, which must be the same on all ranks
 * @param rendezvousAddress the rank's reserved address, at which the remaining ranks meet after a failure
 * @param connectInfo the connect information of the rank's engine if the communicator is a copy of its parent; empty if
 *     the rank has made no such engine
 */
@SuppressWarnings("ArrayRecordComponent") // the array is read at once, never compared
record Introduction(String name, String rendezvousAddress, byte[] connectInfo) {

    private static final int MAX_CHARS = 65_535;
    private static final int MAX_INFO_BYTES = 1 << 16;

    boolean hasConnectInfo() {
        return connectInfo.length > 0;
    }

    byte[] encode() {
        return new WireWriter()
                .text(name, MAX_CHARS)
                .text(rendezvousAddress, MAX_CHARS)
                .blob(connectInfo)
                .toBytes();
    }

    static Introduction decode(int rank, byte[] bytes) {
        try {
            WireReader in = new WireReader(bytes);
            Introduction one = new Introduction(in.text(MAX_CHARS), in.text(MAX_CHARS), in.blob(MAX_INFO_BYTES));
            in.end();
            return one;
        } catch (WireException e) {
            throw new BootstrapException(
                    "rank=" + rank + " bytes=" + bytes.length + ": sent an introduction that makes no sense, "
                            + e.getMessage() + "; use the same JCCL version on all ranks",
                    e);
        }
    }
}
