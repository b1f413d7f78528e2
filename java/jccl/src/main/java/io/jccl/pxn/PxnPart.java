package io.jccl.pxn;

import io.jccl.parts.InitContext;
import io.jccl.parts.Part;
import io.jccl.parts.SendForwarding;
import java.util.Optional;

/** Sends through the GPUs of other ranks. */
public final class PxnPart implements Part {

    @Override
    public boolean forwards() {
        return true;
    }

    @Override
    public Optional<SendForwarding> forwarding(InitContext context) {
        return Optional.of(new Pxn(context));
    }
}
