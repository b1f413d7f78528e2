package io.jccl.lightgbm;

/** A call of LightGBM's API failed, for another reason than communication. The message has the text of LightGBM's error. */
public final class LightGbmException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    LightGbmException(String message) {
        super(message);
    }
}
