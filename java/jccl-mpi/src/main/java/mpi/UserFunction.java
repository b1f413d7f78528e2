package mpi;

import java.nio.ByteBuffer;

/** What a user's operation computes. A subclass overrides one of the two methods. */
public abstract class UserFunction {

    /**
     * Sets each element {@code b} of {@code inOut} to {@code a ∘ b}, where {@code a} is the element of {@code in} at
     * the same place, which comes from lower ranks.
     *
     * @param in an array of the type's elements, such as {@code int[]}; must not be written
     * @param inOut as many elements
     * @param count the number of elements
     * @param type the type of the elements
     */
    public void call(Object in, Object inOut, int count, Datatype type) throws MPIException {
        throw new UnsupportedOperationException(getClass().getName() + " overrides no method of UserFunction");
    }

    /** Like the other method, with buffers in native byte order. */
    public void call(ByteBuffer in, ByteBuffer inOut, int count, Datatype type) throws MPIException {
        Object result = type.read(inOut, count);
        call(type.read(in, count), result, count, type);
        type.write(result, 0, count, inOut);
    }
}
