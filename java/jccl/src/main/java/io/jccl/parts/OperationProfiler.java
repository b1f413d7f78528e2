package io.jccl.parts;

import java.lang.annotation.Native;

/**
 * Receives the begin and the end of a communicator's operations. Any thread may call it. {@link #close} may be called
 * once no other thread calls it any more.
 *
 * <p>Operations are passed as rows of {@value #COLUMNS} longs.
 */
public interface OperationProfiler extends AutoCloseable {

    /** Place of the kind: {@link #KIND_COLLECTIVE}, {@link #KIND_SEND} or {@link #KIND_RECV}. */
    @Native
    int KIND = 0;
    /** Kind of a collective. */
    @Native
    int KIND_COLLECTIVE = 0;
    /** Kind of a send. */
    @Native
    int KIND_SEND = 1;
    /** Kind of a receive. */
    @Native
    int KIND_RECV = 2;
    /** Place of the number of the {@code Collective}. */
    @Native
    int COLLECTIVE = 1;
    /** Place of the number of the {@code DataType}. */
    @Native
    int TYPE = 2;
    /** Place of the number of the {@code ReduceOp}; -1 for none, and for a user-defined reduction. */
    @Native
    int OP = 3;
    /** Place of the number of the {@code Algorithm}. */
    @Native
    int ALGORITHM = 4;
    /** Place of the number of the {@code Protocol}. */
    @Native
    int PROTOCOL = 5;
    /** Place of the count of channels. */
    @Native
    int CHANNELS = 6;
    /** Place of the operation's sequence number. */
    @Native
    int SEQUENCE = 7;
    /** Place of the count of elements. */
    @Native
    int COUNT = 8;
    /** Place of the bytes of the largest buffer of any rank. */
    @Native
    int BYTES = 9;
    /** Place of the root of a collective, or the peer of a send or receive. */
    @Native
    int ROOT = 10;
    /** Place of the address of a collective's send buffer; 0 for a send or receive. */
    @Native
    int SEND_ADDRESS = 11;
    /** Place of the address of a collective's receive buffer, or of the buffer of a send or receive. */
    @Native
    int RECV_ADDRESS = 12;
    /** Count of the longs of a row. */
    @Native
    int COLUMNS = 13;

    /** Returns a description for the log. */
    String description();

    /**
     * Reports that an operation begins, or several as a group.
     *
     * @return events for {@link #stop}; 0 if the profiler wants none of these operations
     */
    long start(long[] rows);

    /** Reports that the operations of {@link #start} have ended. */
    void stop(long events);

    /** Ends the profiler. Must be called once. */
    @Override
    void close();
}
