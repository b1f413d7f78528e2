package io.jccl.spark;

import java.util.Iterator;
import java.util.function.Function;
import scala.collection.AbstractIterator;

/** Converts iterators between Java and Scala, because Scala's own converters differ between 2.12 and 2.13. */
final class ScalaIterators {

    private ScalaIterators() {}

    /** Returns a Scala iterator as a Java iterator. */
    static <T> Iterator<T> toJava(scala.collection.Iterator<T> iterator) {
        return new Iterator<>() {
            @Override
            public boolean hasNext() {
                return iterator.hasNext();
            }

            @Override
            public T next() {
                return iterator.next();
            }
        };
    }

    /** Returns a Java iterator as a Scala iterator, with each element changed by a function. */
    static <T, R> scala.collection.Iterator<R> toScala(Iterator<T> iterator, Function<T, R> change) {
        return new AbstractIterator<>() {
            @Override
            public boolean hasNext() {
                return iterator.hasNext();
            }

            @Override
            public R next() {
                return change.apply(iterator.next());
            }
        };
    }
}
