package io.jccl;

import io.jccl.internal.Arguments;

/**
 * A message that was received or that waits for a receive.
 *
 * @param source the rank that sent the message
 * @param tag the tag with which it was sent
 * @param bytes the length of the message in bytes; the buffer of a receive may be longer
 */
public record MessageStatus(int source, int tag, long bytes) {

    /**
     * Returns the number of elements of the message.
     *
     * @param type the type of the elements
     * @throws IllegalStateException if the length of the message is not a multiple of the size of an element
     */
    public long count(DataType type) {
        Arguments.required("type", type, "the type of the elements, for example DataType.FLOAT32");
        if (bytes % type.bytes() != 0) {
            throw new IllegalStateException("source=" + source + " tag=" + tag + " bytes=" + bytes + " type="
                    + type.label() + ": not a whole number of elements; use the type with which the message was sent");
        }
        return bytes / type.bytes();
    }
}
