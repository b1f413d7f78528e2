package io.jccl.runtime;

import io.jccl.Group;
import io.jccl.Work;
import io.jccl.internal.Arguments;
import java.util.function.Consumer;

/** Operations that are issued at once, by one thread at a time. */
abstract class IssuedOperations extends CheckedOperations<Work> {

    /** See {@link io.jccl.Communicator#group}. */
    public Work group(Consumer<Group> body) {
        Arguments.required("body", body, "what adds operations to the group");
        try (Issuing<Work> issuing = begin()) {
            GroupBuilder group = new GroupBuilder(issuing.factory());
            try {
                body.accept(group);
            } finally {
                group.end();
            }
            return issuing.issue(group.call());
        }
    }
}
