package io.jccl.pxn;

import io.jccl.JcclException;
import io.jccl.nativelib.Code;
import io.jccl.nativelib.DeviceSlots;
import io.jccl.nativelib.NativeEngine;
import java.lang.annotation.Native;

/** Natives for sends through GPUs of other ranks. */
final class NativePxn {

    // The row of a connection that a rank forwards for another rank of its host.

    /** Sending rank. */
    @Native
    static final int FORWARDED_FROM = 0;
    /** Receiving rank. */
    @Native
    static final int FORWARDED_TO = 1;
    /** Channel of the connection. */
    @Native
    static final int FORWARDED_CHANNEL = 2;
    /** Number of the network device. */
    @Native
    static final int FORWARDED_DEVICE = 3;
    /** 1 if a ring or a tree needs the connection, so that it is made ahead of its use. */
    @Native
    static final int FORWARDED_AHEAD = 4;
    /** Length of the row. */
    @Native
    static final int FORWARDED_LENGTH = 5;

    // The row of a connection that another rank is asked to forward.

    /** Receiving rank. */
    @Native
    static final int REQUEST_PEER = 0;
    /** Channel of the connection. */
    @Native
    static final int REQUEST_CHANNEL = 1;
    /** Place of the connection among those that the other rank forwards. */
    @Native
    static final int REQUEST_PLACE = 2;
    /** Length of the row. */
    @Native
    static final int REQUEST_LENGTH = 3;

    private NativePxn() {}

    /** Makes the row of a connection that a rank forwards. */
    static int[] forwarded(int from, int to, int channel, int device, boolean ahead) {
        int[] row = new int[FORWARDED_LENGTH];
        row[FORWARDED_FROM] = from;
        row[FORWARDED_TO] = to;
        row[FORWARDED_CHANNEL] = channel;
        row[FORWARDED_DEVICE] = device;
        row[FORWARDED_AHEAD] = ahead ? 1 : 0;
        return row;
    }

    /** Makes the row of a connection that another rank is asked to forward. */
    static int[] request(int peer, int channel, int place) {
        int[] row = new int[REQUEST_LENGTH];
        row[REQUEST_PEER] = peer;
        row[REQUEST_CHANNEL] = channel;
        row[REQUEST_PLACE] = place;
        return row;
    }

    /**
     * Forwards sends of other ranks of this host, from memory of this rank's GPU. If the adapters do not reach this
     * memory, a warning is logged and nothing is forwarded. The engine releases the memory, also if the call fails.
     *
     * @param engine has not yet made its {@link NativeEngine#connectInfo}
     * @param memory the slots of the connections, in the order of the rows
     * @param rows of {@link #forwarded}, after each other
     */
    static void forwardFor(NativeEngine engine, DeviceSlots memory, int[] rows) {
        engine.keep(memory);
        if (forwardFor(engine.address(), memory.address(), memory.bytes(), memory.dmabuf(), rows) != Code.OK) {
            throw new JcclException("nothing can be forwarded for other ranks: " + NativeEngine.callError());
        }
    }

    /**
     * Sends through the GPU of a rank that forwards, or logs the reason why that is impossible.
     *
     * @param engine has not yet connected to its peers
     * @param info the forwarding rank's {@link NativeEngine#connectInfo}
     * @param connections count of the connections that all ranks together ask the forwarding rank for
     * @param address slots of these connections, as this rank's GPU reaches them
     * @param rows of {@link #request}, after each other
     */
    static void sendThrough(
            NativeEngine engine, int forwarder, byte[] info, int connections, long address, int[] rows) {
        if (sendThrough(engine.address(), forwarder, info, connections, address, rows) != Code.OK) {
            throw new JcclException(
                    "forwarder=" + forwarder + ": what it is asked for makes no sense: " + NativeEngine.callError());
        }
    }

    // Natives return a code. Only an OutOfMemoryError of the JVM is thrown.

    private static native int forwardFor(long engine, long address, long bytes, int dmabuf, int[] rows);

    private static native int sendThrough(
            long engine, int forwarder, byte[] info, int connections, long slots, int[] rows);
}
