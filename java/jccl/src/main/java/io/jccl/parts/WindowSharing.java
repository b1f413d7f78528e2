package io.jccl.parts;

import java.util.List;
import java.util.function.Supplier;

/**
 * Gives symmetric memory of GPUs a further address that only a part uses, such as that of a multicast object. All ranks
 * call the methods together.
 */
public interface WindowSharing {

    /** What a communicator does for the ranks while they share a window. */
    interface Ranks {

        /** Exchanges a message with all ranks. Returns the messages by rank. */
        List<byte[]> allGather(byte[] own);

        /** Executes a body during which no operation of this rank is issued. */
        <T> T whileNothingIsIssued(Supplier<T> body);
    }

    /**
     * Shares a window, or continues without if any rank cannot.
     *
     * @param window the address of this rank's window, which its engine uses
     */
    void share(long window, Ranks ranks);

    /** Ends the sharing of a window, before its memory is freed. No operation of this rank is issued meanwhile. */
    void drop(long window);
}
