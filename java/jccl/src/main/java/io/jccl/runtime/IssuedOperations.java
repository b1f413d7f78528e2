package io.jccl.runtime;

import io.jccl.Group;
import io.jccl.Work;
import java.util.function.Consumer;
import java.util.function.Function;

/** Operations that are issued at once, by one thread at a time. */
abstract class IssuedOperations extends CheckedOperations<Work> {

    /** Takes the right to issue; the caller gives it back with {@link #end}, unless this throws. */
    abstract void begin();

    abstract void end();

    abstract CallFactory factory();

    /** Gives a call its place in the sequence; the caller has the right to issue. */
    abstract Work issue(OperationCall call);

    @Override
    final Work issue(Function<CallFactory, OperationCall> maker) {
        begin();
        try {
            return issue(maker.apply(factory()));
        } finally {
            end();
        }
    }

    /** See {@link io.jccl.Communicator#group}. */
    public Work group(Consumer<Group> body) {
        Checks.required("body", body, "what adds operations to the group");
        return issue(factory -> {
            GroupBuilder group = new GroupBuilder(factory);
            try {
                body.accept(group);
            } finally {
                group.end();
            }
            return group.call();
        });
    }
}
